<?php
// A test of code that pushes, in PHP: docs/start/test-in-any-language.md. It needs the extension curl.
const TOKEN = 'abababababababababababababababababababababababababababababababab';

// The code under test.
function push(array $payload): int {
    $curl = curl_init((getenv('APNS') ?: 'https://127.0.0.1:2197') . '/3/device/' . TOKEN);
    curl_setopt_array($curl, [
        CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_2_0, CURLOPT_CAINFO => getenv('CA') ?: '.postrider/authority.pem',
        CURLOPT_POSTFIELDS => json_encode($payload), CURLOPT_RETURNTRANSFER => true,
        CURLOPT_HTTPHEADER => ['authorization: bearer ' . getenv('BEARER'), 'apns-topic: com.example.app', 'apns-push-type: alert'],
    ]);
    curl_exec($curl);
    return curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
}

// The test.
push(['aps' => ['alert' => ['title' => 'Tea']]]);
$captures = json_decode(file_get_contents((getenv('CAPTURES') ?: 'http://127.0.0.1:2196') . '/v1/captures?wait=5s&token=' . TOKEN), true);
if ($captures['captures'][0]['payload']['aps']['alert']['title'] !== 'Tea') exit(json_encode($captures) . "\n");
echo "passed\n";
