import Foundation
import PostriderNotifications

// The tool needs parts of the store that are visible to tests only, and so only in debug builds.
#if DEBUG
@testable import PostriderStorage

// Calls a store as the ledger does, and prints the outcome of each step; `check` then compares a store with these
// outcomes. In between, the program is killed and its disk fails (fault.c); torture.py runs all of it.
//
// usage: store-under-fire run DIRECTORY SEED FIRST LAST
//        store-under-fire check DIRECTORY SEED TOLD
//        store-under-fire show DIRECTORY

let arguments = CommandLine.arguments
guard arguments.count >= 3 else {
    FileHandle.standardError.write(Data("usage: store-under-fire run|check|show DIRECTORY …\n".utf8))
    exit(2)
}
let script = Script(seed: arguments.count > 3 ? UInt64(arguments[3]) ?? 0 : 0)

func tell(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

let log = Log { level, line in FileHandle.standardError.write(Data("\(level): \(line)\n".utf8)) }

func run(from first: Int, to last: Int) throws {
    tell("run")
    // A log of few pages is copied often, on its own thread.
    let store = try SQLiteStore(directory: arguments[2], log: log, logPages: 12)
    for number in stride(from: first, through: last, by: 1) {
        tell("tried \(number)")
        let told = { (result: Result<Void, StoreError>) in
            switch result {
            case .success: tell("ok \(number)")
            case .failure(let error): tell("failed \(number) \(error.kind)")
            }
        }
        switch script.step(number) {
        case .commit(let batch): store.commit(batch, completion: told)
        case .apply(let secret): store.apply([.addTokenSecret(secret)], completion: told)
        }
    }
    store.close()
}

func check(_ file: String) throws -> Int32 {
    var findings = Findings(
        script, told: try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n"))
    let store = try SQLiteStore(directory: arguments[2], log: log)
    try findings.check(store)
    store.close()
    for sentence in findings.sentences { tell(sentence) }
    return findings.sentences.isEmpty ? 0 : 1
}

/// Opens a store, which migrates it, and prints its contents.
func show() throws {
    let store = try SQLiteStore(directory: arguments[2], log: log, logPages: 12)
    let registry = try store.loadRegistry()
    tell("devices \(registry.devices.map { "\($0.identity) \($0.name)" })")
    tell("registrations \(registry.registrations.map { "\($0.device) \($0.number.value) \($0.topic.text)" })")
    tell("keys \(registry.providerKeys.map { "\($0.identifier) \($0.team)" })")
    tell("topics \(registry.topics.map { "\($0.topic.text) \($0.team)" })")
    tell("enrolment keys \(registry.enrolmentKeys.map(\.name))")
    tell("token secrets \(registry.tokenSecrets.map(\.last))")
    var rows: [QueueRow] = []
    let last = try store.scanQueue { rows.append($0.row) }
    store.read(rows) { result in
        let queued = (try? result.get()) ?? []
        tell("queue \(queued.map { "\($0.row.value) \($0.notification.payload)" }), last row \(last.value)")
    }
    store.close()
}

do {
    if arguments[1] == "show" {
        try show()
    } else if arguments[1] == "run", arguments.count == 6, let first = Int(arguments[4]),
        let last = Int(arguments[5])
    {
        try run(from: first, to: last)
    } else if arguments[1] == "check", arguments.count == 5 {
        exit(try check(arguments[4]))
    } else {
        exit(2)
    }
} catch {
    tell("refused: \(error)")
    exit(3)
}
#else
print("store-under-fire works in a debug build only: make torture.")
#endif
