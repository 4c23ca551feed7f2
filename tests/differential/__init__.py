"""Programs that send the same random inputs to Understudy and to the original programs, and report where the two differ."""
