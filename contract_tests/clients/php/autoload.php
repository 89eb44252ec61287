<?php

/** Replaces composer's client/vendor/autoload.php, and loads Debian's php-guzzlehttp-guzzle. */

declare(strict_types=1);

require 'GuzzleHttp/autoload.php';

spl_autoload_register(static function (string $class): void {
    $path = dirname(__DIR__) . '/lib/' . strtr(substr($class, strlen('OpenAPI\\Client\\')), '\\', '/') . '.php';
    if (str_starts_with($class, 'OpenAPI\\Client\\') && is_file($path)) {
        require $path;
    }
});
