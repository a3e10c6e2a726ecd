import PostriderCluster
import Testing

@testable import PostriderRelay

@Suite("What a node reports of its cluster")
struct NodeReportTests {
    private func node(_ name: NodeName, beat: Int64, generation: Int64 = 1) -> ClusterNode {
        ClusterNode(
            name: name, address: "127.0.0.1:2195", generation: generation, beat: beat, isDraining: false)
    }

    private func view(_ nodes: ClusterNode...) -> ClusterView {
        ClusterView(cluster: "c", nodes: nodes, placement: Placement(), registryVersion: 0)
    }

    @Test("the age of a heartbeat begins when it is seen first, and ends with its node")
    func ages() throws {
        let (a, b) = (try #require(NodeName("a")), try #require(NodeName("b")))
        var report = NodeReports.Report()
        report.note(view(node(a, beat: 1), node(b, beat: 7)), at: 100)
        #expect(report.seenAt == [a: 100, b: 100])
        report.note(view(node(a, beat: 2), node(b, beat: 7)), at: 200)
        #expect(report.seenAt == [a: 200, b: 100])
        report.note(view(node(a, beat: 2), node(b, beat: 7, generation: 2)), at: 300)
        #expect(report.seenAt == [a: 200, b: 300])
        report.note(view(node(a, beat: 3)), at: 400)
        #expect(report.seenAt == [a: 400])
    }

    @Test("the same view again makes no heartbeat younger")
    func again() throws {
        let a = try #require(NodeName("a"))
        var report = NodeReports.Report()
        report.note(view(node(a, beat: 1)), at: 100)
        report.note(view(node(a, beat: 1)), at: 900)
        #expect(report.seenAt == [a: 100])
    }
}
