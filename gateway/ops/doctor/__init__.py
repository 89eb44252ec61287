"""What is wrong with this installation, and how to mend it (``gateway doctor``)."""
