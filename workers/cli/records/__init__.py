"""Records of topics: their values, and how people read them."""
