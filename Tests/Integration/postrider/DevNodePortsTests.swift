import PostriderOptions
import Testing

@testable import postrider

@Suite("The ports of the nodes of postrider dev")
struct DevNodePortsTests {
    private func ports(
        _ first: DevFolder.Ports, _ words: [String] = [], count: Int = 3
    ) throws -> [DevNode.Ports] {
        let options = try DevCommand.table.parse(words)
        var choice = try DevNodePorts(options, first, at: "127.0.0.1")
        var all: [DevNode.Ports] = []
        for number in 0..<count { all.append(try choice.next(number, options)) }
        return all
    }

    @Test("rise by ten from one node to the next, and those for other nodes are free ones")
    func steps() throws {
        let all = try ports(.init(provider: 2197, development: 2198, device: 5223))
        #expect(all.map(\.relay.provider) == [2197, 2207, 2217])
        #expect(all.map(\.relay.development) == [2198, 2208, 2218])
        #expect(all.map(\.relay.device) == [5223, 5233, 5243])
        #expect(all.map(\.console) == [2200, 2210, 2220])
        #expect(Set(all.map(\.cluster)).count == 3)
    }

    @Test("are free ones, all different, if the user wants any")
    func free() throws {
        let all = try ports(
            .init(provider: 0, development: 0, device: 0), ["--provider-port", "0"], count: 8)
        var numbers: [UInt16] = []
        for ports in all {
            numbers += [ports.relay.provider, ports.relay.development, ports.relay.device, ports.cluster]
            numbers.append(ports.console ?? 0)
        }
        #expect(Set(numbers).count == 40 && !numbers.contains(0))
    }

    @Test("are refused if two would be the same, or one above the highest")
    func mistakes() {
        #expect(throws: UsageError.self) {
            try ports(.init(provider: 2197, development: 2198, device: 2217))
        }
        #expect(throws: UsageError.self) {
            try ports(.init(provider: 65_530, development: 2198, device: 5223))
        }
        #expect(throws: Never.self) {
            try ports(.init(provider: 65_510, development: 2198, device: 5223), ["--no-console"])
        }
    }
}
