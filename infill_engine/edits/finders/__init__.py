"""What follows from an edit: one file for each kind of consequence. Finders do not know each other."""
