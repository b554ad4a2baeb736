"""What all tests share: the doors to real Kafka. Its data are made before the first test that asks for them."""

pytest_plugins = ["tests.kafka.fixtures"]
