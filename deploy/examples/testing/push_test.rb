# A test of code that pushes, in Ruby: docs/start/test-in-any-language.md. It needs Typhoeus for HTTP/2.
require "json"
require "net/http"
require "typhoeus"

TOKEN = "ab" * 32

# The code under test.
def push(payload)
  Typhoeus.post(
    "#{ENV.fetch("APNS", "https://127.0.0.1:2197")}/3/device/#{TOKEN}", body: JSON.generate(payload), http_version: :httpv2_0,
    cainfo: ENV.fetch("CA", ".postrider/authority.pem"),
    headers: {"authorization" => "bearer #{ENV["BEARER"]}", "apns-topic" => "com.example.app", "apns-push-type" => "alert"})
end

# The test.
push({aps: {alert: {title: "Tea"}}})
captures = JSON.parse(Net::HTTP.get(URI("#{ENV.fetch("CAPTURES", "http://127.0.0.1:2196")}/v1/captures?wait=5s&token=#{TOKEN}")))
raise captures.to_s unless captures["captures"][0].dig("payload", "aps", "alert", "title") == "Tea"
puts "passed"
