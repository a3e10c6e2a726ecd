import Foundation
import PostriderNotifications
import Testing

@testable import PostriderRelay

@Suite("A change that an operator asks for")
struct OperatorChangeTests {
    private func change(_ method: String, _ path: String, _ body: String = "") -> OperatorChange? {
        OperatorChange(
            method, path, body: Array(body.utf8), by: OperatorChange.Caller(user: 7, process: 4711),
            at: Moment(milliseconds: 5))
    }

    @Test("is a reload too: with the settings that changed, or with the reason why none did")
    func reload() {
        let caller = OperatorChange.Caller(user: 0, process: 1)
        let moment = Moment(milliseconds: 5)
        let done = OperatorChange(
            reload: ["source-rate": "5"], refusal: nil, by: caller, at: moment)
        #expect(done.action == "reload" && done.details == ["source-rate": "5"] && done.status == 200)
        let refused = OperatorChange(reload: [:], refusal: "No.", by: caller, at: moment)
        #expect(refused.status == 400 && refused.refusal == "No." && refused.details.isEmpty)
    }

    @Test(
        "is told in the words of the commands",
        arguments: [
            ("PUT", "/v1/keys/K1", "keys add", "K1"), ("DELETE", "/v1/keys/K1", "keys remove", "K1"),
            ("PUT", "/v1/revoked-keys/K1", "keys revoke", "K1"),
            ("PUT", "/v1/topics/com.example.app", "topics add", "com.example.app"),
            ("DELETE", "/v1/topics/com.example.app", "topics remove", "com.example.app"),
            ("PUT", "/v1/enrolment-keys/lab", "enrolment-keys add", "lab"),
            ("DELETE", "/v1/enrolment-keys/lab", "enrolment-keys remove", "lab"),
            ("PATCH", "/v1/devices/kiosk", "devices change", "kiosk"),
            ("DELETE", "/v1/devices/kiosk", "devices remove", "kiosk"),
            ("PUT", "/v1/rules", "rules replace", nil),
            ("DELETE", "/v1/captures?x=1", "captures remove", nil),
        ])
    func actions(_ method: String, _ path: String, _ action: String, _ object: String?) {
        let change = change(method, path)
        #expect(change?.action == action && change?.object == object)
        #expect(change?.caller.user == 7 && change?.caller.process == 4711)
    }

    @Test(
        "is none if the request only asks, or if nobody knows its path",
        arguments: [
            ("GET", "/v1/keys"), ("HEAD", "/v1/keys"), ("GET", "/v1/devices/events"), ("PUT", "/v1/status"),
            ("PUT", "/v2/keys/K1"), ("PUT", "/"), ("PUT", ""), ("POST", "/3/device/00"),
        ])
    func none(_ method: String, _ path: String) { #expect(change(method, path) == nil) }

    @Test("has the members of its body that are no secrets")
    func details() {
        let key =
            #"{"team":"T","publicKey":"PEM","environment":"production","topics":["a","b"],"replaces":true}"#
        #expect(
            change("PUT", "/v1/keys/K", key)?.details == [
                "team": "T", "environment": "production", "topics": "a b", "replaces": "true",
            ])
        #expect(
            change("PATCH", "/v1/devices/d", #"{"name":"kiosk","addTags":["a"],"removeTags":[]}"#)?.details
                == ["name": "kiosk", "addTags": "a", "removeTags": ""])
        #expect(change("PUT", "/v1/backup", #"{"directory":"/var/b"}"#)?.object == "/var/b")
        #expect(change("PUT", "/v1/rules", #"{"name":"rule","rules":[]}"#)?.details == [:])
        #expect(change("PUT", "/v1/keys/K", "no JSON")?.details == [:])
    }

    @Test("has no key that somebody has typed in the wrong place, and no text without an end")
    func masked() {
        let key = "enrol-" + String(repeating: "0f", count: 32)
        var removal = change("DELETE", "/v1/enrolment-keys/\(key)")
        removal?.end(404, ControlHandler.refusal(404, "There is no enrolment key \(key).").body)
        #expect(removal?.object == "enrol-…")
        #expect(removal?.refusal == "There is no enrolment key enrol-….")
        let token = "send-" + String(repeating: "a5", count: 32)
        #expect(change("DELETE", "/v1/send-tokens/\(token)")?.object == "send-…")
        #expect(change("DELETE", "/v1/send-tokens/send-backup")?.object == "send-backup")
        let pem = #"{"team":"-----BEGIN PRIVATE KEY-----\nMIG"}"#
        #expect(change("PUT", "/v1/keys/K", pem)?.details == ["team": "…"])
        let long = String(repeating: "x", count: 100_000)
        #expect(change("PUT", "/v1/topics/\(long)")?.object?.count == 501)
    }

    @Test("ends as it was answered")
    func end() {
        var change = change("PUT", "/v1/topics/a")
        change?.end(200, Array("{}".utf8))
        #expect(change?.status == 200 && change?.refusal == nil)
        change?.end(503, ControlHandler.refusal(503, "No space is left.").body)
        #expect(change?.status == 503 && change?.refusal == "No space is left.")
        change?.end(500, [])
        #expect(change?.refusal == "The relay did not say why.")
    }
}
