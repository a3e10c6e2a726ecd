import PostriderCommands
import PostriderCrypto
import PostriderNotifications
import PostriderOptions

/// `postrider captures anonymise`: a file of captures that others may have.
extension CapturesCommand {
    static func anonymise(_ arguments: [String]) throws {
        guard let options = try anonymiseTable.parseOrHelp(arguments) else { return }
        let path = options.operands[0]
        let key = try options.string("key-file").map(readKey) ?? Entropy().bytes(32)
        let choice = RequestReplacements.Choice(
            replacesTopics: options.isSet("replace-topics"), keepsNames: options.isSet("keep-names"))
        let file = try AnonymisedFile(
            try FileText.read(path, "The file of captures"), file: path, key: key, choice)
        Console.say(String(file.text.dropLast()))
    }

    private static func readKey(_ path: String) throws -> [UInt8] {
        let key = Array(try FileText.readSecret(path).trimmed.utf8)
        guard key.count >= leastKeyBytes else {
            throw CommandFailure(
                "The key in \(path) has \(key.count) bytes, and whoever guesses it can find out short "
                    + "values: make one with 'openssl rand -hex 32'.", exitCode: 2)
        }
        return key
    }

    private static let leastKeyBytes = 16

    static let anonymiseTable = OptionTable(
        command: "postrider captures anonymise",
        summary: """
            Print a file of captures with other tokens, identifiers and texts. A value gets the same \
            replacement each time, with the same length, so that 'postrider replay' still sends the same \
            load. FILE is from 'postrider captures --lines' or '--har'.
            """,
        operands: [.required("FILE")],
        options: [
            .file(
                "key-file",
                "A file with a secret of 16 characters or more that determines the replacements, to get the "
                    + "same ones again; a new secret that is kept nowhere if not given."),
            .flag("replace-topics", "Replace topics, too; the relay of a replay must have the new ones."),
            .flag(
                "keep-names",
                "Keep the names of all members of payloads; if not given, only those that Apple defines."),
        ],
        examples: [
            .init(
                "A day as load for others",
                "postrider captures anonymise day.jsonl > load.jsonl && postrider replay load.jsonl"),
            .init(
                "Two days with the same replacements",
                "openssl rand -hex 32 > secret && postrider captures anonymise --key-file secret day1.jsonl"),
        ]
    )
}
