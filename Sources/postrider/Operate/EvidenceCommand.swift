import FoundationEssentials
import PostriderCommands
import PostriderCrypto
import PostriderEvidence
import PostriderNotifications
import PostriderOptions
import PostriderRelay

/// `postrider evidence`: signed statements about pushes, and how to check one.
enum EvidenceCommand: Command {
    static let name = "evidence"
    static let summary = "Print a signed statement about a push, or check one."

    static func run(_ arguments: [String]) async throws -> Int32 {
        switch arguments.first {
        case "key": try await showKey(Array(arguments.dropFirst()))
        case "verify": try verify(Array(arguments.dropFirst()))
        default: try await state(arguments)
        }
        return 0
    }

    /// Asks for a push until the trace has it, for a second: what happens reaches the trace a moment later than the
    /// provider's answer is there.
    private static func state(_ arguments: [String]) async throws {
        guard let options = try table.parseOrHelp(arguments) else { return }
        let identity = options.operands[0]
        guard NotificationIdentity(identity) != nil else {
            throw options.error(
                "'\(identity)' is no apns-id (a UUID of 36 characters), and neither 'key' nor 'verify'"
            )
        }
        let client = ControlClient(address: try ControlAddress.find(options))
        var attempts = 5
        while true {
            do {
                let path = "/v1/pushes/\(identity)/evidence"
                let (answer, text) = try await client.list(path, of: Control.SignedEvidence.self)
                Console.say(options.isSet("json") ? text : answer.evidence)
                return
            } catch let failure as CommandFailure {
                attempts -= 1
                guard attempts > 0, failure.sentence.hasPrefix("The trace does not know") else {
                    throw failure
                }
                try await Task.sleep(for: .milliseconds(2 * Limits.traceDelayMilliseconds))
            }
        }
    }

    private static func showKey(_ arguments: [String]) async throws {
        guard let options = try keyTable.parseOrHelp(arguments) else { return }
        let client = ControlClient(address: try ControlAddress.find(options))
        let (key, text) = try await client.list("/v1/evidence-key", of: Control.EvidenceKey.self)
        // PEM ends with a line break.
        Console.say(options.isSet("json") ? text : String(key.publicKey.dropLast()))
    }

    private static func verify(_ arguments: [String]) throws {
        guard let options = try verifyTable.parseOrHelp(arguments) else { return }
        let (path, keyPath) = (options.operands[0], try options.requiredString("key"))
        let text = try FileText.read(path, "The evidence")
        let key = try KeysCommand.publicKey(in: FileText.read(keyPath, "The key file"), keyPath)
        let evidence: Evidence
        do {
            evidence = try Evidence(text, verifiedWith: ES256.PublicKey(pem: key))
        } catch {
            throw CommandFailure("\(path) proves nothing. \(error)")
        }
        Console.say(
            options.isSet("json") ? try Console.json(evidence.statement) : describe(evidence.statement))
    }

    /// What a statement says, in lines.
    static func describe(_ statement: EvidenceStatement) -> String {
        var lines = [
            "The signature is good: the owner of the key has signed this at \(statement.signedAt), as relay "
                + "\(statement.relay.name)."
        ]
        for push in statement.pushes {
            let target =
                push.device.map { "device \($0.identity)" + ($0.name.map { " (\($0))" } ?? "") }
                ?? "channel \(push.channel ?? "?")"
            let digest = push.payloadSHA256.map { ", SHA-256 \($0)" } ?? ""
            lines += [
                "", "Push \(push.apnsID) to \(push.topic) (\(push.environment)) for \(target)",
                "\(push.acceptedAt)  accepted from \(push.provider): \(push.payloadBytes) bytes\(digest)",
            ]
            lines += push.steps.map { step in
                let node = step.node.map { " (node \($0))" } ?? ""
                return "\(step.at)  \(step.meaning)" + (step.text.map { " \($0)" } ?? "") + node
            }
        }
        if !statement.remarks.isEmpty { lines += [""] + statement.remarks }
        return lines.map(Listing.printable).joined(separator: "\n")
    }

    static let table = OptionTable(
        command: "postrider evidence",
        summary: """
            Print a statement about the life of a push, signed with a key of the relay: a text to keep. \
            Anybody who has the relay's public key can check it.
            """,
        operands: [.required("APNS-ID")],
        options: ControlAddress.folderOptions + [.flag("json", "Print the relay's answer, as JSON.")],
        sections: [.init("Actions", [("key", keyTable.summary), ("verify", verifyTable.summary)])],
        examples: [
            .init(
                "Keep the evidence of a push",
                "postrider evidence 6F0C2E5A-4C1B-4B6E-9D6F-0A3F5E7C9B1D > evidence.txt"),
            .init("The key to check it with", "postrider evidence key > relay-public.pem"),
            .init(
                "Check it, on any machine", "postrider evidence verify evidence.txt --key relay-public.pem"),
        ]
    )

    static let actionTables = [keyTable, verifyTable]

    static let keyTable = OptionTable(
        command: "postrider evidence key",
        summary: "Print the public key with which the relay's evidence is checked, as PEM.",
        options: ControlAddress.folderOptions + [
            .flag("json", "Print the relay's answer, as JSON, with the key's fingerprint.")
        ]
    )

    static let verifyTable = OptionTable(
        command: "postrider evidence verify",
        summary: "Check the signature of evidence, and print what it says. Needs no relay.",
        operands: [.required("FILE")],
        options: [
            .file("key", "The relay's public key, PEM, which you have from the relay's operator."),
            .flag("json", "Print the statement, as JSON."),
        ]
    )
}
