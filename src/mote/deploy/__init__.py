"""What is done with images after they are built: signing, and updates over the air."""
