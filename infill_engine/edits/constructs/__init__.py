"""The parts of code that finders read and write: parameters, calls, constructors, imports, documentation."""
