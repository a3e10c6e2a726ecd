import Foundation
import PostriderNotifications
import Testing

@testable import PostriderStorage

/// Registries that earlier versions of this program wrote.
@Suite struct RegistryMigrationTests {
    private let scratch = Scratch()
    private var path: String { scratch.path + "/registry.sqlite" }

    /// Makes a file as the version of the program with this many schema steps wrote it.
    private func file(ofVersion version: Int) throws -> Database {
        let schema = RegistryFile.schema
        return try Database(
            path: path,
            schema: Schema(
                applicationIdentifier: schema.applicationIdentifier,
                steps: Array(schema.steps[..<version])))
    }

    @Test("A key of before keys had a scope becomes a legacy key: its whole team's, in both environments")
    func keysWithoutScope() throws {
        try file(ofVersion: 1).execute("INSERT INTO provider_key VALUES ('K', 'T', 'PEM', 7)")
        let legacy = ProviderKeyRecord(
            identifier: "K", team: "T", publicKey: "PEM", addedAt: Moment(milliseconds: 7))
        for _ in 1...2 { #expect(try RegistryFile(path: path).load().providerKeys == [legacy]) }
    }

    @Test(
        "A device of before devices were noted as seen counts as seen now: nothing of it expires at once"
    )
    func devicesNeverSeen() throws {
        let identity = (1...12).map { "0\(String($0, radix: 16))" }.joined()
        let before = Date().timeIntervalSince1970.rounded(.down) * 1000
        try file(ofVersion: 2).execute("INSERT INTO device VALUES (x'\(identity)', x'07', 'phone', 5)")
        let devices = try RegistryFile(path: path).load().devices
        #expect(devices.map(\.enrolledAt) == [Moment(milliseconds: 5)])
        #expect(devices.allSatisfy { $0.seenAt.milliseconds >= Int64(before) })
        #expect(try RegistryFile(path: path).load().devices == devices)
    }

    @Test("Devices and enrolment keys of before they had names and tags have none")
    func devicesWithoutLabels() throws {
        let old = try file(ofVersion: 5)
        let identity = String(repeating: "07", count: 12)
        try old.execute("INSERT INTO device VALUES (x'\(identity)', x'07', 'phone', 5, 6)")
        try old.execute("INSERT INTO enrolment_key VALUES ('batch', x'01', 7)")
        let registry = try RegistryFile(path: path).load()
        #expect(registry.labels.isEmpty && registry.devices.count == 1)
        #expect(
            registry.enrolmentKeys == [
                EnrolmentKeyRecord(name: "batch", digest: [1], addedAt: Moment(milliseconds: 7))
            ])
    }

    @Test("Registrations of before there was Web Push are none of it")
    func registrationsWithoutSubscriptions() throws {
        let identity = String(repeating: "07", count: 12)
        let old = try file(ofVersion: 7)
        try old.execute("INSERT INTO device VALUES (x'\(identity)', x'07', 'phone', 5, 6)")
        try old.execute("INSERT INTO registration VALUES (x'\(identity)', 1, 'com.example.a', 5, NULL)")
        let registry = try RegistryFile(path: path).load()
        #expect(registry.registrations.count == 1 && registry.webSubscriptions.isEmpty)
    }

    @Test("Of a device of before presence was noted nothing is known but when it was seen")
    func devicesWithoutPresence() throws {
        let identity = String(repeating: "07", count: 12)
        try file(ofVersion: 4).execute("INSERT INTO device VALUES (x'\(identity)', x'07', 'phone', 5, 6)")
        let registry = try RegistryFile(path: path).load()
        #expect(registry.devices.map(\.seenAt) == [Moment(milliseconds: 6)])
        #expect(registry.presences.isEmpty && registry.lastRun == nil)
    }

    @Test(
        "A key whose scope cannot be read makes the file a damaged one, and is not taken for a key of all",
        arguments: ["environment = 'staging'", "topics = 'com.example.a com/example'"])
    func damage(_ assignment: String) throws {
        let registry = try RegistryFile(path: path)
        try registry.apply([
            .putProviderKey(
                ProviderKeyRecord(
                    identifier: "K", team: "T", publicKey: "PEM", addedAt: Moment(milliseconds: 7)))
        ])
        try registry.database.execute("UPDATE provider_key SET \(assignment)")
        let error = #expect(throws: StoreError.self) { try registry.load() }
        #expect(error?.kind == .unusable)
    }
}
