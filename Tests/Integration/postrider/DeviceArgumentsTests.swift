import Foundation
import PostriderClients
import PostriderNotifications
import PostriderOptions
import PostriderTransport
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("What postrider device is told to do")
struct DeviceArgumentsTests {
    private let folder = DevFolder.fresh()

    private func withFolder(_ body: () throws -> Void) throws {
        _ = try folder.prepare(topics: [], now: Moment(milliseconds: 1))
        try folder.sampleValues.write(to: folder)
        defer { folder.remove() }
        try body()
    }

    private func order(_ arguments: [String], _ environment: [String: String] = [:]) throws -> DeviceArguments
    {
        try DeviceArguments(
            DeviceCommand.table.parse(["-d", folder.path] + arguments), environment: environment)
    }

    @Test("needs nothing where postrider dev has been")
    func dev() throws {
        try withFolder {
            let order = try order([])
            #expect(order.relay.destination.description == "127.0.0.1:12")
            #expect(order.registrations == ["com.example.app": .production])
            let elsewhere = try self.order(["--environment", "development", "--topic", "a.b"])
            #expect(elsewhere.registrations == ["a.b": .development])
            let key = try folder.enrolmentKey()
            #expect(try order.enrolmentKey() == key)
            let state = try order.readState()
            #expect(state == nil)
        }
    }

    @Test("takes the enrolment key from the environment rather than from a file")
    func environment() throws {
        try withFolder {
            #expect(try order([], ["POSTRIDER_ENROLMENT_KEY": "k"]).enrolmentKey() == "k")
            let key = try folder.enrolmentKey()
            #expect(try order([], ["POSTRIDER_ENROLMENT_KEY": ""]).enrolmentKey() == key)
        }
    }

    @Test("refuses an enrolment key that is empty, and a name that no relay takes")
    func mistakes() throws {
        try withFolder {
            let file = folder.path + "/empty.key"
            try FileText.write("\n", to: file)
            let order = try order(["--enrolment-key-file", file])
            let empty = #expect(throws: CommandFailure.self) { try order.enrolmentKey() }
            #expect(empty?.sentence == "The enrolment key \(file) is empty: put the key into it.")
            let long = #expect(throws: UsageError.self) {
                try self.order(["--name", String(repeating: "n", count: 256)])
            }
            #expect(long?.description == "postrider device: --name must have 255 bytes at most")
        }
    }

    @Test("without any enrolment key is a mistake of the user")
    func noKey() throws {
        try withFolder {
            let options = try DeviceCommand.table.parse([
                "--relay", "127.0.0.1:1", "--ca", folder.authorityFile, "--topic", "a",
            ])
            let order = try DeviceArguments(options, environment: [:])
            let error = #expect(throws: CommandFailure.self) { try order.enrolmentKey() }
            #expect(error?.exitCode == 2)
        }
    }

    @Test("keeps who it is, for its owner's eyes only")
    func state() throws {
        try withFolder {
            let file = folder.path + "/device.json"
            let order = try order(["--state", file])
            let nobody = try order.readState()
            #expect(nobody == nil)
            let state = DeviceState(
                identity: DeviceIdentity(high: 1, low: 2), secret: Array(repeating: 7, count: 32))
            try order.write(state)
            let kept = try order.readState()
            #expect(kept == state)
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            try Data("{}".utf8).write(to: URL(filePath: file))
            #expect(throws: CommandFailure.self) { try order.readState() }
        }
    }
}
