"""What a name means: where it occurs, which scope or class owns it, and which assignments reach it."""
