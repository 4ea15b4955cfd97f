"""Measures repairs of broken code and alternatives to intact code."""
