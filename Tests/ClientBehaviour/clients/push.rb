# Pushes with Typhoeus: usage in ../measure.py.
require "json"
require "typhoeus"

$stdout.sync = true
file, bearer, token, count = ARGV
relay = JSON.parse(File.read(file))
(1..count.to_i).each do |number|
  answer = Typhoeus.post(
    "https://#{relay["host"]}:#{relay["providerPort"]}/3/device/#{token}", body: '{"aps":{"alert":"Tea"}}',
    http_version: :httpv2_0, cainfo: relay["authorityFile"],
    headers: {"authorization" => "bearer #{bearer}", "apns-topic" => relay["topics"][0], "apns-collapse-id" => number.to_s})
  puts "#{number} #{answer.return_code == :ok ? answer.code : "error #{answer.return_code}"}"
end
