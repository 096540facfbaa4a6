<?php
/**
 * A webhook receiver for PHP 8.1 or later, without packages.
 *
 * It verifies the signature and the time of each attempt, handles each delivery once, and answers 2xx after it was handled.
 *
 *     WEBHOOK_SECRET=... php -S 127.0.0.1:4000 receiver.php
 */
declare(strict_types=1);

const TOLERANCE_SECONDS = 300;
const MAX_BYTES = 1048576;
const CLAIM_SECONDS = 60;

/** Your code. It has ten seconds; an exception makes the service send the delivery again. */
function handle(array $event): void
{
    if ($event['event'] === 'charge.pix.paid') {
        error_log('paid ' . ($event['data']['reference'] ?? ''));
    }
    error_log("handled {$event['id']} {$event['event']}");
}

/** While a secret is rotated, the old one is accepted too. */
function secrets(): array
{
    return array_values(array_filter([getenv('WEBHOOK_SECRET'), getenv('OLD_WEBHOOK_SECRET')]));
}

/** The bytes of the key: whsec_ and base64 are the decoded bytes, any other text is its UTF-8 bytes. */
function key_of(string $secret): string
{
    if (str_starts_with($secret, 'whsec_')) {
        $key = base64_decode(substr($secret, 6), true);
        if ($key !== false && $key !== '') {
            return $key;
        }
    }
    return $secret;
}

/** Why a delivery is not accepted, or null. */
function refusal(string $id, string $sent, string $given, string $body, int $now): ?string
{
    if (secrets() === []) {
        return 'no secret';
    }
    if ($id === '' || $given === '' || !preg_match('/\A\d{1,12}\z/', $sent)) {
        return 'missing header';
    }
    $is_ours = false;
    foreach (secrets() as $secret) {
        $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$sent.$body", key_of($secret), true));
        foreach (explode(' ', $given) as $signature) {
            // Every comparison is made, each in constant time.
            $is_ours = hash_equals($expected, $signature) || $is_ours;
        }
    }
    if (!$is_ours) {
        return 'wrong signature: compare the secrets, and verify the raw body';
    }
    return abs($now - (int) $sent) <= TOLERANCE_SECONDS ? null : 'too old: check the clock';
}

/**
 * The status to answer. A claim of a process that died ends after a minute. A table with a primary key does the same: see
 * packages/client/src/stores.ts.
 */
function handle_once(array $event): int
{
    $folder = getenv('HANDLED') ?: 'handled';
    is_dir($folder) || @mkdir($folder, 0700, true);
    $name = $folder . '/' . hash('sha256', $event['id']);
    if (@fopen($name, 'x') === false) {
        clearstatcache();
        $at = @filemtime($name);
        if ($at === false || time() - $at < CLAIM_SECONDS) {
            return 503;
        }
        touch($name);
    }
    // Only with the claim: another one may have handled it until then.
    if (file_exists("$name.done")) {
        unlink($name);
        return 204;
    }
    try {
        handle($event);
    } catch (Throwable $error) {
        unlink($name);
        error_log('failed ' . $error->getMessage());
        return 500;
    }
    rename($name, "$name.done");
    return 204;
}

function receive(): int
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        return 405;
    }
    $body = (string) file_get_contents('php://input', false, null, 0, MAX_BYTES + 1);
    if (strlen($body) > MAX_BYTES) {
        return 413;
    }
    $header = fn (string $name): string => (string) ($_SERVER["HTTP_WEBHOOK_$name"] ?? '');
    $reason = refusal($header('ID'), $header('TIMESTAMP'), $header('SIGNATURE'), $body, time());
    if ($reason !== null) {
        error_log("refused $reason");
        return 401;
    }
    $event = json_decode($body, true, 64, JSON_THROW_ON_ERROR);
    // A test of the endpoint is about no money.
    return ($event['data']['test'] ?? false) === true ? 204 : handle_once($event);
}

http_response_code(receive());
