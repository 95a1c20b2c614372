from __future__ import annotations

from core.redaction.names import names_given_secret, names_secret

SECRET = """
GITHUB_TOKEN API_TOKEN NOTES_TOKEN notesToken x-auth-token session_token token api_key API-KEY accessKey private_key
secret_key signing_key encryptionKey client_secret DB_PASSWORD passwd DB_PWD SMTP_PASS X-Auth credential credentials
Set-Cookie PROXY_BEARER authorization NEWS_TOKEN
"""
PLAIN = """
input_tokens max_tokens token_count tokens token_usage monkey keyboard keywords turkey author compass bypass PWD OLDPWD
next_page_token nextPageToken max_token public_key sort_key primary-key SSH_AUTH_SOCK PASSWORD_FILE KEY_PATH auth_type
"""


def test_a_name_is_that_of_a_secret_by_its_last_word_and_a_plain_key_where_it_is_given() -> None:
    assert [each for each in SECRET.split() if not (names_secret(each) and names_given_secret(each))] == []
    assert [each for each in ("", *PLAIN.split()) if names_secret(each) or names_given_secret(each)] == []
    for name in ("KEY", "key", "NOTES_KEY", "X-Maps-Key"):
        assert names_given_secret(name)
        assert not names_secret(name)
