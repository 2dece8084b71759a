"""Cards: a race as a picture, with what its figures depend on."""
