// A post with its comments in the public database: ada follows it, and bo, another user on another
// device, comments.

import CumulusModel
import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct CommentsStoryTests {
    @Test func aPostIsFollowedAndUnfollowedOnOneNode() async throws {
        try await Story.play(on: 1, followPost)
    }

    @Test func aPostIsFollowedAndUnfollowedWhileANodeIsKilled() async throws {
        try await Story.play(on: 3, followPost)
    }

    private static let ofThePost = "post == REFERENCE('sunrise')"

    private func followPost(_ story: Story) async throws {
        let ada = try story.watchingDevice(of: "ada", in: "public")
        let bo = try story.otherDevice(of: "bo", in: "public")
        func comment(_ name: String, _ text: String, on post: String = "sunrise") async throws {
            let post = #"{"post": {"$reference": {"recordName": "\#(post)", "action": "none"}}}"#
            try await story.change(
                [
                    "record", "save", "Comment", name, "--field", "text=\(text)", "--json-fields",
                    post,
                ],
                by: bo
            )
        }
        func follow() async throws {
            try await story.change(
                [
                    "subscription", "save", "comments", "--query", "Comment", "--where",
                    Self.ofThePost, "--on", "create", "--keys", "text",
                ],
                by: ada
            )
        }
        for post in ["sunrise", "sunset"] {
            let words = ["record", "save", "Post", post, "--field", "title=\(post)"]
            try await story.change(words, by: ada)
        }
        try await comment("c1", "before")
        try await follow()
        let watcher = try await Watcher.start(ada, in: story.folder)

        try await comment("c2", "first")
        try await comment("c3", "elsewhere", on: "sunset")
        var told = ["created c2 first"]
        try await watcher.expect(told)
        try await story.killWatchedNode()
        try await comment("c4", "second")
        told.append("created c4 second")
        try await watcher.expect(told)

        try await story.change(["subscription", "delete", "comments"], by: ada)
        try await comment("c5", "unfollowed")
        // The changes in between can't be told: an app asks for them, as after a first follow.
        try await follow()
        told.append("reset comments")
        try await watcher.expect(told)
        #expect(try await comments(by: ada, in: story) == ["c1", "c2", "c4", "c5"])
        try await comment("c6", "third")
        told.append("created c6 third")
        try await watcher.expect(told)
        try await watcher.endAndExpectNothingElse()
    }

    private func comments(by device: Story.Device, in story: Story) async throws -> [String] {
        let words = ["query", "Comment", "--where", Self.ofThePost, "--json"]
        let found = try JSONReader.read(try await story.ask(words, by: device).utf8)
        guard case .array(let records) = found else { return [] }
        return records.map { $0.text("recordName") }.sorted()
    }
}
