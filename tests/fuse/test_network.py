"""What stays open for a bucket: its port and no other, and keys of the user's files, taken along."""

from kafkafs.fuse.sandbox import network


def test_a_store_of_ones_own_is_the_only_port():
    assert network.network_for("s3://b/x?endpoint_override=127.0.0.1:9000&scheme=http").ports == (9000, 53)
    assert network.network_for("gs://b/x").ports == (53, 80, 443)


def test_keys_in_files_are_taken_along_and_those_of_the_environment_count(tmp_path):
    (tmp_path / "credentials").write_text("[work]\naws_access_key_id = id\naws_secret_access_key = secret\n")
    (tmp_path / "config").write_text("[profile work]\nregion = eu-west-1\n")
    named = {
        "AWS_PROFILE": "work", "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
    }  # fmt: skip
    taken = dict(named)
    network.remember_credentials(taken)
    assert (taken["AWS_ACCESS_KEY_ID"], taken["AWS_SECRET_ACCESS_KEY"]) == ("id", "secret")
    assert taken["AWS_DEFAULT_REGION"] == "eu-west-1"
    given = named | {"AWS_ACCESS_KEY_ID": "other"}
    network.remember_credentials(given)
    assert given["AWS_ACCESS_KEY_ID"] == "other"
    assert "AWS_SECRET_ACCESS_KEY" not in given
