"""In-SSD sampling engine: draws neighbours and takes their ids out of the flash pages as these pass."""
