import PostriderPostgres
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The setting of the store")
struct StoreSettingTests {
    private static func settings(_ more: [String]) throws -> Settings {
        try SettingsTests.settings(SettingsTests.complete + more)
    }

    @Test("names a database, or nothing for files")
    func places() throws {
        let files = try Self.settings([]).forRelay().store
        #expect(files.database == nil && !files.acceptsLosses)
        let options = ["--store", "postgresql://me:hush@db/x", "--accept-unsafe-database", "true"]
        let store = try Self.settings(options).forRelay().store
        #expect(store.database?.description == "me@db/x" && store.acceptsLosses)
    }

    @Test(
        "that is no connection string is refused without repeating it",
        arguments: ["mysql://a:hush@b", "hush"])
    func mistakes(_ text: String) throws {
        let error = #expect(throws: (any Error).self) { try Self.settings(["--store", text]).forRelay() }
        let sentence = error.map { "\($0)" } ?? ""
        #expect(sentence.contains("--store must be a connection string of PostgreSQL such as postgresql://"))
        #expect(!sentence.contains("hush"))
    }
}
