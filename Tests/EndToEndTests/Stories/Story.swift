// What people do with an app on several devices, on a cluster of one node or of three: what the
// stories share. Devices are processes: `cumulus watch`, and a `cumulus` for each other step.
//
// The device that watches asks the second node and then the third one, if there are three; the
// others ask the first one. A command that changes something waits until every node has the change,
// so that the steps of a story happen in one order everywhere. On three nodes a story may take more
// than 5 seconds: the nodes start one after the other, and each step is a process.
//
// Folder: features from one device to another, as people use them. Read `Story`, `Watcher`, then
// `CommentsStoryTests`.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

final class Story {
    /// The environment of a device's commands: whose it is, and where it asks.
    typealias Device = [String: String]

    let cluster: FaultCluster
    let folder: TestFolder
    private var tokens: [String: String] = [:]
    private var nodesAlive: Int

    private init(_ count: Int) throws {
        cluster = try FaultCluster(count)
        folder = try TestFolder()
        nodesAlive = count
    }

    /// Plays a story on so many nodes, whose users are ada and bo.
    static func play(on count: Int, _ steps: (Story) async throws -> Void) async throws {
        let story = try Story(count)
        try await story.cluster.use {
            try await story.cluster.start()
            #expect(try await story.cluster.haveMet())
            story.tokens["ada"] = story.cluster.token
            story.tokens["bo"] = try await story.cluster.nodes[0].makeToken(of: "bo")
            try await steps(story)
        }
    }

    // MARK: Devices

    /// Where the device that watches asks: at the first of these that answers.
    var watchedEndpoints: [String] {
        get throws {
            let nodes = cluster.nodes.count == 1 ? cluster.nodes[...] : cluster.nodes[1...]
            return try nodes.map { try $0.endpoint }
        }
    }

    func watchingDevice(of user: String, in database: String) throws -> Device {
        device(of: user, in: database, at: try watchedEndpoints)
    }

    /// A device that asks the first node, which stays alive.
    func otherDevice(of user: String, in database: String) throws -> Device {
        device(of: user, in: database, at: [try cluster.nodes[0].endpoint])
    }

    private func device(of user: String, in database: String, at endpoints: [String]) -> Device {
        [
            "CUMULUS_ENDPOINT": endpoints.joined(separator: ","), "CUMULUS_TLS": "never",
            "CUMULUS_TOKEN": tokens[user] ?? "", "CUMULUS_DATABASE": database,
        ]
    }

    // MARK: Steps

    /// Runs a command that changes something; it ends when every living node has the change.
    func change(_ words: [String], by device: Device) async throws {
        _ = try await ask(words + ["--replicas", "\(nodesAlive - 1)"], by: device)
    }

    /// Runs a command and returns what it printed.
    func ask(_ words: [String], by device: Device) async throws -> String {
        let run = try await CommandLineRun(words + ["--timeout", "60"], variables: device)
        try #require(run.code == 0, "\(words) ended with \(run.code): \(run.errors)")
        return run.output
    }

    /// Kills the node that the watching device is connected to, if there are others.
    func killWatchedNode() async throws {
        guard nodesAlive == 3 else { return }
        try await cluster.nodes[1].end(SIGKILL)
        nodesAlive = 2
    }
}

extension JSON {
    /// The text of an object's member; empty if the object has no such member.
    func text(_ key: String) -> String {
        if case .string(let text)? = self[key] { text } else { "" }
    }

    /// The texts among the values of an object's member, which is an object too.
    func texts(in key: String) -> [String] {
        guard case .object(let members)? = self[key] else { return [] }
        return members.map(\.value).compactMap {
            if case .string(let text) = $0 { text } else { nil }
        }
    }
}
