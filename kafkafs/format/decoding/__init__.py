"""Keys and values decoded, above all else in `format`: the one place that knows records and what is in them.

decoded_lines    records as JSON lines, by the schemas that their payloads name
"""
