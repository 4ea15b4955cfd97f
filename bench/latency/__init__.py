"""From a keystroke to an answer: the real server as a subprocess, and the engine by itself."""
