"""The source database, as far as a job asks it anything."""
