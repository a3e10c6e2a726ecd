import PostriderOptions
import Testing

@testable import PostriderCommands
@testable import postrider

@Suite("The place of postrider dev")
struct DevPlaceTests {
    private static func place(_ arguments: [String]) throws -> DevPlace {
        try DevPlace(DevCommand.table.parse(arguments))
    }

    private static let placeCases: [([String], address: String, host: String, names: [String])] = [
        ([], "127.0.0.1", "127.0.0.1", []),
        (["--address", "0.0.0.0"], "0.0.0.0", "127.0.0.1", []),
        (["--address", "::"], "::", "::1", []),
        (["--address", "192.0.2.1"], "192.0.2.1", "192.0.2.1", ["192.0.2.1"]),
        (
            ["--name", "push.test", "--name", "push_1", "--name", "push.test", "--name", "::2"], "127.0.0.1",
            "127.0.0.1", ["push.test", "push_1", "::2"]
        ),
    ]

    @Test("is this machine alone, unless an address and names are given", arguments: placeCases.indices)
    func places(at index: Int) throws {
        let (arguments, address, host, names) = Self.placeCases[index]
        let place = try Self.place(arguments)
        #expect(place.address == address && place.host == host && place.names == names)
    }

    @Test(
        "is refused where it is no address or no name",
        arguments: [
            (["--address", "push.test"], "a host name goes behind --name"),
            (["--name", "push..test"], "--name must be a host name or an address, not 'push..test'"),
            (["--name", "-a"], "--name must be a host name or an address, not '-a'"),
            (["--name", "a b"], "not 'a b'"),
            ((0...100).flatMap { ["--name", "a\($0)"] }, "--name is given for 101 names; 100 is the most"),
        ])
    func refusals(_ arguments: [String], _ sentence: String) {
        let error = #expect(throws: UsageError.self) { try Self.place(arguments) }
        #expect(error?.description.contains(sentence) == true, "\(error?.description ?? "")")
    }
}
