"""What every proposal must satisfy, however it was found."""
