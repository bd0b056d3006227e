// What `cumulus cluster status` makes of what nodes say.

import ArgumentParser
import CumulusModel
import Testing

@testable import Cumulus
@testable import CumulusCLI

@Suite struct ClusterStatusTests {
    private func status(
        _ nodeID: String,
        state: String = "ready",
        version: String = "0.2.0"
    ) -> NodeOperator.Status {
        NodeOperator.Status(
            nodeID: nodeID,
            incarnation: "i",
            clusterID: "c",
            version: version,
            state: state,
            notReady: "",
            started: Timestamp(millisecondsSince1970: 0),
            connections: 0,
            calls: 0,
            callsInProgress: 0,
            commits: 0,
            flushes: 0,
            rows: 0,
            rowBytes: 0,
            freeBytes: 0,
            assetBytes: 0,
            wantedAssets: 0,
            logBytes: 0,
            logLimit: 0,
            privateQuota: 0,
            publicQuota: 0,
            profile: "durable",
            scopes: [],
            peers: []
        )
    }

    private func member(
        _ nodeID: String,
        isThis: Bool = false,
        isRemoved: Bool = false,
        lacks: UInt64 = 0,
        hasReported: Bool = true,
        holdsTheSame: Bool? = nil
    ) -> NodeOperator.Member {
        let report = NodeOperator.Report(
            container: "c",
            environment: "development",
            missing: lacks,
            reported: hasReported ? Timestamp(millisecondsSince1970: 1) : nil,
            holdsTheSame: holdsTheSame,
            oldestMissing: lacks > 0 ? Timestamp(millisecondsSince1970: 1) : nil,
            vector: [:]
        )
        return NodeOperator.Member(
            nodeID: nodeID,
            endpoint: "\(nodeID):7420",
            isRemoved: isRemoved,
            isThis: isThis,
            reports: isThis ? [] : [report],
            clockOffset: 0,
            heard: nil,
            isConnected: !isThis && !isRemoved,
            twin: "",
            logBytes: 0,
            stateAfter: nil
        )
    }

    private func row(_ overview: ClusterOverview, _ member: NodeOperator.Member) -> [String] {
        overview.row(of: .member(member, problem: ""))
    }

    private func json(_ overview: ClusterOverview, _ member: NodeOperator.Member) -> JSON {
        .object(overview.members(of: .member(member, problem: "")))
    }

    /// A node that was not asked is shown as the one that answers knows it.
    @Test func eachNodeHasALine() {
        let this = member("a", isThis: true)
        let same = member("b", holdsTheSame: true)
        let behind = member("c", lacks: 3, holdsTheSame: true)
        let removed = member("d", isRemoved: true, holdsTheSame: true)
        let members = [this, same, behind, removed]
        let overview = ClusterOverview(ClusterView(status("a"), members))
        #expect(row(overview, this) == ["a", "a:7420", "0.2.0", "yes", "1 of 2 other members"])
        #expect(row(overview, same) == ["b", "b:7420", "", "connected", "the node that answers"])
        #expect(row(overview, behind) == ["c", "c:7420", "", "connected", ""])
        #expect(row(overview, removed) == ["d", "d:7420", "", "removed", ""])
        #expect(json(overview, this)["version"] == "0.2.0")
        #expect(json(overview, this)["ready"] == .bool(true))
        #expect(json(overview, this)["holdsTheSameAs"] == .array(["b"]))
        #expect(json(overview, same)["version"] == .null && json(overview, same)["ready"] == .null)
        #expect(json(overview, same)["holdsTheSameAs"] == .array(["a"]))

        let other = ClusterView(
            status("b", state: "catching up", version: "0.3.0"),
            [member("a", holdsTheSame: true), member("b", isThis: true)]
        )
        let both = ClusterOverview(ClusterView(status("a"), members), [other])
        #expect(
            row(both, same) == ["b", "b:7420", "0.3.0", "no: catching up", "1 of 1 other member"]
        )
        #expect(json(both, same)["ready"] == .bool(false))
        let alone = ClusterOverview(ClusterView(status("a"), [this]))
        #expect(row(alone, this) == ["a", "a:7420", "0.2.0", "yes", ""])
    }

    /// Before it said how far it is, nobody knows what it lacks.
    @Test func nothingIsLackedBeforeTheFirstReport() {
        func row(_ member: NodeOperator.Member) -> [String] {
            Listed.member(member, problem: "").row
        }
        let early = row(member("b", lacks: 9, hasReported: false))
        #expect(early[3] == "not reported yet" && early[4].isEmpty)
        let late = row(member("b", lacks: 1))
        #expect(late[3] == "1 commit" && !late[4].isEmpty)
        #expect(row(member("a", isThis: true))[3].isEmpty)
        #expect(Listed.member(member("d", isRemoved: true), problem: "").isRemoved)
    }

    /// A member that calls the node that is asked is connected, though nobody can call it.
    @Test func whatKeepsNodesFromCallingAMemberIsTold() throws {
        var asked = status("a")
        asked.peers = [
            .init(
                endpoint: "b:7420",
                nodeID: "",
                since: Timestamp(millisecondsSince1970: 0),
                problem: "x"
            )
        ]
        let same = member("b", holdsTheSame: true)
        let listed = try #require(Listed.all([same], asked).first)
        #expect(listed.row[2] == "connected: x" && listed.row[6].isEmpty)
        let overview = ClusterOverview(ClusterView(asked, [same]))
        #expect(overview.row(of: listed)[3] == "connected, see below")
        asked.peers[0].nodeID = "b"
        let called = try #require(Listed.all([same], asked).first)
        #expect(called.row[2] == "connected" && called.row[6] == "the same")
    }

    @Test func allIsOfMembers() throws {
        let words = ["cluster", "status", "--all"]
        let command = try #require(try Main.parseAsRoot(words) as? ClusterCommand.Status)
        #expect(command.all)
        #expect(throws: (any Error).self) { try Main.parseAsRoot(words + ["--zones"]) }
    }
}
