// The timeline on this device: a file that outlives the app, so that entries can be written
// without a connection.
//
// Held by `TimelineController`; used on the main queue only.

import CloudKit
import Foundation

final class TimelineStore {
    private struct Content: Codable {
        var entries: [Entry] = []
        var comments: [Comment] = []
        /// Archived.
        var notificationToken: Data?
    }

    private let file: URL
    private var content = Content()
    /// Entries that were removed since the app's start: a sync that began before may still bring
    /// them.
    private var removed: Set<String> = []

    init(file: URL = TimelineStore.standardFile) {
        self.file = file
        if let data = try? Data(contentsOf: file),
            let content = try? JSONDecoder().decode(Content.self, from: data)
        {
            self.content = content
        }
    }

    /// A file in the user's home, as the environment names it.
    private static var standardFile: URL {
        let home = ProcessInfo.processInfo.environment["HOME"] ?? NSTemporaryDirectory()
        return URL(fileURLWithPath: home).appendingPathComponent(".timeline.json")
    }

    // MARK: - Reading

    /// The newest first.
    var entries: [Entry] { return content.entries.sorted { $0.timestamp > $1.timestamp } }

    /// The oldest first.
    func comments(on entry: Entry) -> [Comment] {
        return content.comments.filter { $0.entryName == entry.name }
            .sorted { $0.timestamp < $1.timestamp }
    }

    var comments: [Comment] { return content.comments }

    /// Up to which notification this device has been told; nil on its first start.
    var notificationToken: CKServerChangeToken? {
        get {
            return content.notificationToken.flatMap {
                try? NSKeyedUnarchiver.unarchivedObject(
                    ofClass: CKServerChangeToken.self,
                    from: $0
                )
            }
        }
        set {
            content.notificationToken = newValue.flatMap {
                try? NSKeyedArchiver.archivedData(
                    withRootObject: $0,
                    requiringSecureCoding: true
                )
            }
        }
    }

    // MARK: - Changing

    func add(_ entry: Entry) {
        guard !removed.contains(entry.name) else { return }
        content.entries.removeAll { $0.name == entry.name }
        content.entries.append(entry)
    }

    func add(_ comment: Comment) {
        guard !removed.contains(comment.name), !removed.contains(comment.entryName) else { return }
        content.comments.removeAll { $0.name == comment.name }
        content.comments.append(comment)
    }

    /// Removes what has this name; comments go with their entry.
    ///
    /// - Returns: The text of what was removed.
    @discardableResult
    func remove(_ name: String) -> String? {
        removed.insert(name)
        let entry = content.entries.first { $0.name == name }
        let comment = content.comments.first { $0.name == name }
        content.entries.removeAll { $0.name == name }
        content.comments.removeAll { $0.name == name || $0.entryName == name }
        return entry?.text ?? comment?.text
    }

    func save() throws {
        try JSONEncoder().encode(content).write(to: file, options: .atomic)
    }
}
