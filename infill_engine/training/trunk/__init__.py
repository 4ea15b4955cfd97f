"""Training of the trunk's adapter: low-rank matrices beside frozen ones, on holes drawn from real files."""
