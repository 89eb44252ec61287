<?php

function is_authentic(string $secret, string $body, string $header): bool
{
    return hash_equals('sha256=' . hash_hmac('sha256', $body, $secret), $header);
}
