"""Answering the kernel: each operation asks one question of a node, on the trio thread or in a worker.

operations     a handler for each kind of request
answering      how each call ends: a reply or an errno, counted and timed, which `.kafkafs/` shows
inodes         the nodes that the kernel knows, by its numbers
workers        the threads that may wait, fair between *lanes*, one for each disk
waiting        reads at the end of a log that wait for more; `signals`: whether their readers want to be gone
trusting       programs that would take a stream for an empty file, to which it is refused
sweeping       what is done every moment, asked or not
"""
