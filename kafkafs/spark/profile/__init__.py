"""`kafkafs profile`: what is in data directories, as one page of pictures.

`measure` looks at every record of a segment and keeps numbers only, `summary` adds them up, `charts` draws, `page` puts
the page together, `job` runs it all.
"""
