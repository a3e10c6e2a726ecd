import Foundation
import PostriderCrypto
import PostriderEvidence
import PostriderNotifications
import PostriderRelay
import PostriderStorage
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("postrider evidence")
struct EvidenceCommandTests {
    private static let identity = NotificationIdentity(high: 7, low: 8)
    private static let device = DeviceIdentity(high: 1, low: 2)
    private static let payload = Array(#"{"aps":{"alert":"wake"}}"#.utf8)

    private static func acceptance(_ row: Int64, digest: Bool = true) throws -> TraceRecord {
        .acceptance(
            TraceAcceptance(
                row: QueueRow(row), moment: Moment(milliseconds: 1000 * row), identity: identity,
                uniqueIdentity: nil, target: .device(device, RegistrationNumber(1)),
                topic: try #require(Topic("com.example.app")), pushType: .alert, priority: .immediate,
                expiration: .nowOrNever, collapses: false, payloadBytes: payload.count,
                payloadDigest: digest ? PayloadDigest(words: SHA256.digest(payload.span).words) : nil,
                proof: .key("KEY1234567")))
    }

    private static func event(_ kind: TraceEvent.Kind, _ row: Int64) -> TraceRecord {
        .event(TraceEvent(kind, at: Moment(milliseconds: 1000 * row + 5), row: QueueRow(row)))
    }

    /// A relay whose trace has these records, and that signs with a new key.
    private func withRelay(
        tracing records: [TraceRecord], _ body: (ControlClient, ES256.PrivateKey) async throws -> Void
    ) async throws {
        let (signer, key) = (EvidenceSigner(name: "relay.example.com"), ES256.PrivateKey.generate())
        signer.use(.success(key))
        try await ControlTests.withRelay(
            trace: { () throws(StoreError) in
                let trace = MemoryTrace()
                try trace.append(records)
                return trace
            }, signer: signer
        ) { client, _ in try await body(client, key) }
    }

    private func evidence(_ client: ControlClient, _ key: ES256.PublicKey) async throws -> EvidenceStatement {
        let path = "/v1/pushes/\(Self.identity)/evidence"
        let (answer, _) = try await client.list(path, of: Control.SignedEvidence.self)
        return try Evidence(answer.evidence, verifiedWith: key).statement
    }

    @Test("states what the trace knows of a push, signed with the key that it shows")
    func statement() async throws {
        let records = [try Self.acceptance(1), Self.event(.stored, 1), Self.event(.acknowledged, 1)]
        try await withRelay(tracing: records) { client, key in
            let (shown, _) = try await client.list("/v1/evidence-key", of: Control.EvidenceKey.self)
            #expect(shown.publicKey == key.publicKey.pem && shown.relay == "relay.example.com")
            let statement = try await evidence(client, ES256.PublicKey(pem: shown.publicKey))
            #expect(statement.relay.name == "relay.example.com" && statement.remarks.isEmpty)
            let push = try #require(statement.pushes.first)
            #expect(push.apnsID == "\(Self.identity)" && push.provider == "key KEY1234567")
            #expect(push.payloadSHA256 == SHA256.digest(Self.payload.span).description)
            #expect(push.device?.identity == "\(Self.device)" && push.device?.tokenSHA256.count == 64)
            #expect(push.device?.name == nil, "the relay does not know this device")
            #expect(push.steps.map(\.what) == ["stored", "acknowledged"])
            #expect(push.steps.map(\.at) == ["1970-01-01T00:00:01.005Z", "1970-01-01T00:00:01.005Z"])
        }
    }

    @Test("states each push of an apns-id, and says what is not recorded")
    func several() async throws {
        let records = try (1...25).map { try Self.acceptance($0, digest: $0 != 20) }
        try await withRelay(tracing: records) { client, key in
            let statement = try await evidence(client, key.publicKey)
            #expect(statement.pushes.count == 20 && statement.remarks.count == 2)
            #expect(statement.remarks.contains { $0.contains("There may be earlier pushes") })
            #expect(statement.remarks.contains { $0.contains("has not recorded the digest") })
        }
    }

    @Test("says in one sentence what it has no evidence of")
    func refusals() async throws {
        try await withRelay(tracing: []) { client, _ in
            for (path, words, code) in [
                ("/v1/pushes/\(Self.identity)/evidence", "The trace does not know the push", 1),
                ("/v1/pushes/nonsense/evidence", "is a UUID of 36 characters", 2),
                ("/v1/pushes/\(Self.identity)/nonsense", "There is no", 1),
                ("/v1/devices/x/evidence", "There is no", 1),
            ] as [(String, String, Int32)] {
                let failure = await #expect(throws: CommandFailure.self, "\(path)") {
                    _ = try await client.request("GET", path)
                }
                #expect(failure?.sentence.contains(words) == true, "\(failure?.sentence ?? "")")
                #expect(failure?.exitCode == code, "\(path)")
            }
            #expect(await ControlTests.run(["evidence", "\(Self.identity)"], on: client) == 1)
            #expect(await ControlTests.run(["evidence", "nonsense"], on: client) == 2)
            #expect(await ControlTests.run(["evidence", "key"], on: client) == 0)
        }
        try await ControlTests.withRelay { client, _ in
            #expect(await ControlTests.run(["evidence", "\(Self.identity)"], on: client) == 1)
            #expect(await ControlTests.run(["evidence", "key"], on: client) == 1)
        }
    }

    @Test("is checked without a relay, and fails with one changed byte, another key, or no such file")
    func verification() async throws {
        let folder = DevFolder.fresh()
        defer { folder.remove() }
        _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
        let key = ES256.PrivateKey.generate()
        let statement = EvidenceStatement(
            relay: EvidenceStatement.Relay(name: "r"), signedAt: "2026-11-26T03:00:00.000Z", pushes: [],
            remarks: [])
        let text = Evidence(statement, signedBy: key).text
        let (file, keyFile) = (folder.path + "/evidence.txt", folder.path + "/public.pem")
        try FileText.write(text + "\n", to: file)
        try FileText.write(key.publicKey.pem, to: keyFile)
        func verify(_ words: String...) async -> Int32 {
            await Commands.program.run(["evidence", "verify"] + words)
        }
        #expect(await verify(file, "--key", keyFile) == 0)
        #expect(await verify(file, "--key", keyFile, "--json") == 0)
        #expect(await verify(file, "--key", folder.providerKeyFile) == 1)
        #expect(await verify(file, "--key", folder.certificateFile) == 1)
        #expect(await verify(file) == 2)
        #expect(await verify(file + ".none", "--key", keyFile) == 1)
        try FileText.write(text.replacing("\"r\"", with: "\"s\""), to: file)
        #expect(await verify(file, "--key", keyFile) == 1)
        try FileText.write(String(text.dropLast(40)), to: file)
        #expect(await verify(file, "--key", keyFile) == 1)
        for action in ["key", "verify"] {
            #expect(await Commands.program.run(["evidence", action, "--help"]) == 0)
        }
    }

    @Test("uses one key for the life of a data directory, which nobody else can read")
    func keyFile() throws {
        let folder = DevFolder.fresh()
        defer { folder.remove() }
        _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
        let path = folder.path + "/evidence.key"
        func load() -> Result<ES256.PrivateKey, any Error> {
            let signer = EvidenceSigner(name: "")
            signer.load(from: folder.path, log: .none)
            return Result { try signer.key() }
        }
        let first = try load().get().publicKey.pem
        #expect(try load().get().publicKey.pem == first)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(throws: EvidenceSigner.Unavailable.self) { try load().get() }
        try FileText.write("nonsense", to: path)
        let error = #expect(throws: EvidenceSigner.Unavailable.self) { try load().get() }
        #expect(error?.description.contains("holds no private key") == true, "\(error?.description ?? "")")
    }

    @Test("prints what is signed without what a terminal would obey")
    func printing() {
        let statement = EvidenceStatement(
            relay: EvidenceStatement.Relay(name: "r\u{1B}[2J"), signedAt: "now", pushes: [],
            remarks: ["A\nB."])
        #expect(
            EvidenceCommand.describe(statement)
                == "The signature is good: the owner of the key has signed this at now, as relay r?[2J."
                + "\n\nA?B."
        )
    }
}
