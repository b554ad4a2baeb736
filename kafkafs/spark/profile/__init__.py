"""`kafkafs profile`: what is in data directories, as one page of pictures.

`measure` looks at every record of a segment, and keeps `figures` only, which are added up. `charts` draws, `page` puts
the page together, `numbers` are the same as data, `profile_job` runs it all.
"""
