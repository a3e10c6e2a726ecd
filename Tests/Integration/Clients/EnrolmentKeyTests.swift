import Foundation
import PostriderClients
import PostriderCourier
import PostriderNotifications
import PostriderRelay
import Testing

@testable import PostriderTransport

@Suite("An enrolment key with bounds")
struct EnrolmentKeyTests {
    /// Adds a key as the operator does, and returns its text.
    private func add(_ name: String, _ body: String, to fixture: RelayFixture) throws -> String {
        let answer = try request("PUT", "/v1/enrolment-keys/\(name)", body, of: fixture)
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try JSONDecoder().decode(Control.NewEnrolmentKey.self, from: Data(answer.body)).key
    }

    private func request(
        _ method: String, _ path: String, _ body: String, of fixture: RelayFixture
    ) throws -> (status: Int, body: [UInt8]) {
        var answer: (status: Int, body: [UInt8])?
        let client = RequestClient(to: try fixture.control, on: fixture.loop)
        try client.send(client.makeHead(method, path), body: Array(body.utf8)) { result in
            answer = (try? result.get()).map { ($0.status, $0.body) } ?? (0, [])
        }
        fixture.loop.turn { answer != nil }
        return try #require(answer)
    }

    private func listed(_ name: String, of fixture: RelayFixture) throws -> Control.EnrolmentKey {
        let answer = try request("GET", "/v1/enrolment-keys", "", of: fixture)
        let keys = try JSONDecoder().decode([Control.EnrolmentKey].self, from: Data(answer.body))
        return try #require(keys.first { $0.name == name })
    }

    @Test("enrols exactly as many devices as it may, though many come at once")
    func uses() async throws {
        let fixture = try await RelayFixture(shards: 2)
        let key = try add("tour", #"{"uses":5}"#, to: fixture)
        var answers: [Result<EnrollResponse, EnrolmentError>] = []
        for number in 0..<20 {
            DeviceClient.enrol(at: fixture.devices, key: key, name: "device \(number)", on: fixture.loop) {
                answers.append($0)
            }
        }
        fixture.loop.turn { answers.count == 20 }
        let refusals = answers.compactMap { answer -> String? in
            if case .failure(let error) = answer { "\(error)" } else { nil }
        }
        #expect(refusals.count == 15)
        let sentence = "The enrolment key tour was for 5 devices, which have enrolled: ask for another one"
        #expect(Set(refusals) == ["the relay refuses the enrolment (permissionDenied): \(sentence)"])
        let listed = try listed("tour", of: fixture)
        await fixture.stop()
        #expect(listed.used == 5 && listed.uses == 5)
    }

    @Test("enrols only devices whose name matches its pattern")
    func names() async throws {
        let fixture = try await RelayFixture(shards: 1)
        let key = try add("tour", #"{"namePattern":"test*"}"#, to: fixture)
        let other = try add("other", #"{"namePattern":"kiosk-*"}"#, to: fixture)
        let (taken, refused) = (try fixture.enrol(key: key), try fixture.enrol(key: other))
        await fixture.stop()
        #expect((try? taken.get()) != nil)
        guard case .failure(let error) = refused else { return #expect(Bool(false), "it was enrolled") }
        #expect("\(error)".contains("is for devices whose names match 'kiosk-*'"), "\(error)")
    }

    @Test("enrols nobody after its end, and cannot be added with an end that has passed")
    func end() async throws {
        let fixture = try await RelayFixture(shards: 1)
        let soon = Int64(Date().timeIntervalSince1970 * 1000) + 300
        let key = try add("tour", #"{"endsAt":\#(soon)}"#, to: fixture)
        var refusal: EnrolmentError?
        while refusal == nil {
            if case .failure(let error) = try fixture.enrol(key: key) { refusal = error }
        }
        let late = try request("PUT", "/v1/enrolment-keys/late", #"{"endsAt":5}"#, of: fixture)
        let none = try request("PUT", "/v1/enrolment-keys/none", #"{"uses":0}"#, of: fixture)
        await fixture.stop()
        #expect("\(try #require(refusal))".contains("The enrolment key tour has ended at 20"))
        #expect(late.status == 400 && none.status == 400)
    }
}
