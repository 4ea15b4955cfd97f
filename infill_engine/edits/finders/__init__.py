"""What follows from an edit: one file for each rule. Finders do not know each other."""
