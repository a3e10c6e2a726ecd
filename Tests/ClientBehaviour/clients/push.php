<?php
// Pushes with PHP's curl, one handle for all: usage in ../measure.py.
[, $file, $bearer, $token, $count] = $argv;
$relay = json_decode(file_get_contents($file), true);
$curl = curl_init("https://{$relay['host']}:{$relay['providerPort']}/3/device/$token");
for ($number = 1; $number <= $count; $number++) {
    curl_setopt_array($curl, [
        CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_2_0, CURLOPT_CAINFO => $relay['authorityFile'], CURLOPT_RETURNTRANSFER => true,
        CURLOPT_POSTFIELDS => '{"aps":{"alert":"Tea"}}',
        CURLOPT_HTTPHEADER => ["authorization: bearer $bearer", "apns-topic: {$relay['topics'][0]}", "apns-collapse-id: $number"],
    ]);
    $isAnswered = curl_exec($curl) !== false;
    echo $number, ' ', $isAnswered ? curl_getinfo($curl, CURLINFO_RESPONSE_CODE) : 'error ' . curl_error($curl), "\n";
}
