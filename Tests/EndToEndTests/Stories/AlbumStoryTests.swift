// An album in a zone of a private database: one device of a user is told of the photos that another
// one adds, changes and removes, and fetches them.

import CumulusTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct AlbumStoryTests {
    @Test func photosAreToldOnOneNode() async throws {
        try await Story.play(on: 1, lookThroughAlbum)
    }

    @Test func photosAreToldWhileANodeIsKilled() async throws {
        try await Story.play(on: 3, lookThroughAlbum)
    }

    private func lookThroughAlbum(_ story: Story) async throws {
        let tablet = try story.watchingDevice(of: "ada", in: "private")
        let phone = try story.otherDevice(of: "ada", in: "private")
        let photo = try makePhoto(in: story.folder)
        func add(_ name: String, _ title: String) async throws {
            let album =
                #"{"album": {"$reference": {"recordName": "summer", "action": "deleteSelf"}}}"#
            try await story.change(
                [
                    "record", "save", "Photo", name, "--zone", "Album", "--field",
                    "title=\(title)", "--json-fields", album, "--asset", "image=\(photo)",
                ],
                by: phone
            )
        }
        try await story.change(["zone", "create", "Album"], by: phone)
        try await story.change(["record", "save", "Album", "summer", "--zone", "Album"], by: phone)
        try await add("beach", "Beach")
        try await story.change(
            [
                "subscription", "save", "photos", "--query", "Photo", "--zone", "Album", "--where",
                "album == REFERENCE('summer')", "--keys", "title",
            ],
            by: tablet
        )
        let watcher = try await Watcher.start(tablet, in: story.folder)

        try await add("boat", "Boat")
        var told = ["created boat Boat"]
        try await watcher.expect(told)
        try await story.killWatchedNode()
        try await story.change(
            [
                "record", "save", "Photo", "boat", "--zone", "Album", "--field", "title=Sailing",
                "--force",
            ],
            by: phone
        )
        told.append("updated boat Sailing")
        try await watcher.expect(told)
        try await expectPhoto(at: photo, by: tablet, in: story)
        try await story.change(["record", "delete", "boat", "--zone", "Album"], by: phone)
        told.append("deleted boat")
        try await watcher.expect(told)
        // The album takes its other photo with it.
        try await story.change(["record", "delete", "summer", "--zone", "Album"], by: phone)
        told.append("deleted beach")
        try await watcher.expect(told)
        try await watcher.endAndExpectNothingElse()
    }

    /// A file of several chunks that don't compress.
    private func makePhoto(in folder: TestFolder) throws -> String {
        let path = "\(folder.path)/photo.jpg"
        let random = try FileHandle(forReadingFrom: URL(filePath: "/dev/urandom"))
        let bytes = try #require(try random.read(upToCount: 1 << 20))
        try bytes.write(to: URL(filePath: path))
        return path
    }

    /// The boat's image is the file's, on the node that the device asks now.
    private func expectPhoto(
        at path: String,
        by device: Story.Device,
        in story: Story
    ) async throws {
        let copy = "\(story.folder.path)/copy.jpg"
        let words = ["asset", "get", "boat", "image", "--zone", "Album", "--output", copy]
        // A node may have the record some time before it has the chunks.
        let isFetched = try await eventually(seconds: 30) {
            try await CommandLineRun(words, variables: device).code == 0
        }
        try #require(isFetched)
        let (bytes, wanted) = (URL(filePath: copy), URL(filePath: path))
        #expect(try Data(contentsOf: bytes) == Data(contentsOf: wanted))
    }
}
