"""What a model costs on this machine (`costs`), and which one to use here (`benchmark`)."""
