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
    private func add(_ name: String, _ body: String, to rig: RelayRig) throws -> String {
        let answer = try request("PUT", "/v1/enrolment-keys/\(name)", body, of: rig)
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
        return try JSONDecoder().decode(Control.NewEnrolmentKey.self, from: Data(answer.body)).key
    }

    private func request(
        _ method: String, _ path: String, _ body: String, of rig: RelayRig
    ) throws -> (status: Int, body: [UInt8]) {
        var answer: (status: Int, body: [UInt8])?
        let client = RequestClient(to: try rig.control, on: rig.loop)
        try client.send(client.makeHead(method, path), body: Array(body.utf8)) { result in
            answer = (try? result.get()).map { ($0.status, $0.body) } ?? (0, [])
        }
        rig.loop.turn { answer != nil }
        return try #require(answer)
    }

    private func listed(_ name: String, of rig: RelayRig) throws -> Control.EnrolmentKey {
        let answer = try request("GET", "/v1/enrolment-keys", "", of: rig)
        let keys = try JSONDecoder().decode([Control.EnrolmentKey].self, from: Data(answer.body))
        return try #require(keys.first { $0.name == name })
    }

    @Test("enrols exactly as many devices as it may, though many come at once")
    func uses() async throws {
        let rig = try await RelayRig(shards: 2)
        let key = try add("tour", #"{"uses":5}"#, to: rig)
        var answers: [Result<EnrollResponse, EnrolmentError>] = []
        for number in 0..<20 {
            DeviceClient.enrol(at: rig.devices, key: key, name: "device \(number)", on: rig.loop) {
                answers.append($0)
            }
        }
        rig.loop.turn { answers.count == 20 }
        let refusals = answers.compactMap { answer -> String? in
            if case .failure(let error) = answer { "\(error)" } else { nil }
        }
        #expect(refusals.count == 15)
        let sentence = "The enrolment key tour was for 5 devices, which have enrolled: ask for another one"
        #expect(Set(refusals) == ["the relay refuses the enrolment (permissionDenied): \(sentence)"])
        let listed = try listed("tour", of: rig)
        await rig.stop()
        #expect(listed.used == 5 && listed.uses == 5)
    }

    @Test("enrols only devices whose name matches its pattern")
    func names() async throws {
        let rig = try await RelayRig(shards: 1)
        let key = try add("tour", #"{"namePattern":"test*"}"#, to: rig)
        let other = try add("other", #"{"namePattern":"kiosk-*"}"#, to: rig)
        let (taken, refused) = (try rig.enrol(key: key), try rig.enrol(key: other))
        await rig.stop()
        #expect((try? taken.get()) != nil)
        guard case .failure(let error) = refused else { return #expect(Bool(false), "it was enrolled") }
        #expect("\(error)".contains("is for devices whose names match 'kiosk-*'"), "\(error)")
    }

    @Test("enrols nobody after its end, and cannot be added with an end that has passed")
    func end() async throws {
        let rig = try await RelayRig(shards: 1)
        let soon = Int64(Date().timeIntervalSince1970 * 1000) + 300
        let key = try add("tour", #"{"endsAt":\#(soon)}"#, to: rig)
        var refusal: EnrolmentError?
        while refusal == nil {
            if case .failure(let error) = try rig.enrol(key: key) { refusal = error }
        }
        let late = try request("PUT", "/v1/enrolment-keys/late", #"{"endsAt":5}"#, of: rig)
        let none = try request("PUT", "/v1/enrolment-keys/none", #"{"uses":0}"#, of: rig)
        await rig.stop()
        #expect("\(try #require(refusal))".contains("The enrolment key tour has ended at 20"))
        #expect(late.status == 400 && none.status == 400)
    }
}
