// The list of photos and what the user can do with them: what a view controller is in an app with
// a screen.
//
// Made by `AppDelegate`, which tells it of changes by others.

import CloudKit
import CoreLocation
import ExampleTerminal

@MainActor
final class PhotosController {
    private let terminal: Terminal
    private let history: NotificationHistory
    private let manager = PhotoManager()
    private let subscription = PhotoSubscription()
    private var filter = PhotoFilter.all

    /// The signed-in user; nil if signed out.
    var user: CKRecord.ID?

    init(_ terminal: Terminal, _ history: NotificationHistory) {
        self.terminal = terminal
        self.history = history
    }

    // MARK: - Showing

    private func showPhotos() {
        let rows = manager.photos.map { photo -> [String] in
            let picture = photo.imageURL.flatMap { try? Picture(file: $0) }
            let place = photo.place.map {
                String(format: "%.3f, %.3f", $0.coordinate.latitude, $0.coordinate.longitude)
            }
            return [
                photo.title, picture?.description ?? "", place ?? "",
                photo.isOwned(by: user) ? "yours" : "",
            ]
        }
        terminal.show(Table(rows))
        let count = manager.photos.count
        let more = manager.hasMore ? "; there are more" : ""
        terminal.say(count == 1 ? "1 photo\(more)" : "\(count) photos\(more)")
    }

    /// Shows an error that ended nothing.
    func report(_ error: Error?) {
        if let error = error { terminal.say(PhotosController.sentence(error)) }
    }

    /// The sentence about an error for the user.
    private static func sentence(_ error: Error) -> String {
        switch (error as? CKError)?.code {
        case .notAuthenticated?: return "You are signed out: photos can be looked at, not changed"
        case .permissionFailure?: return "Only its owner may change or delete a photo"
        case .unknownItem?: return "The photo has been deleted meanwhile"
        default: return error.localizedDescription
        }
    }

    /// Waits for a call's completion.
    private func finish(_ call: (@escaping (Error?) -> Void) -> Void) async throws {
        let error: Error? = await withCheckedContinuation { done in
            call { done.resume(returning: $0) }
        }
        if let error = error { throw StepProblem(PhotosController.sentence(error)) }
    }

    /// The photo of that title; the list is fetched if that was not done yet.
    private func photo(_ title: String) async throws -> Photo {
        if manager.photos.isEmpty {
            try await finish { self.manager.fetch(self.filter, completion: $0) }
        }
        guard let photo = manager.photos.first(where: { $0.title == title }) else {
            throw StepProblem("the list shows no photo '\(title)'")
        }
        return photo
    }

    // MARK: - Commands

    var commands: [ExampleCommand] {
        return [
            ExampleCommand("list", "Shows the newest ten photos of the filter.") { _ in
                try await self.finish { self.manager.fetch(self.filter, completion: $0) }
                self.showPhotos()
            },
            ExampleCommand("more", "Shows ten more.") { _ in
                try await self.finish { self.manager.fetchMore(completion: $0) }
                self.showPhotos()
            },
            ExampleCommand(
                "filter all | recent | mine | title PREFIX | near LATITUDE LONGITUDE [KM]",
                "Says which photos to list."
            ) { try self.setFilter($0) },
            ExampleCommand("add FILE TITLE [LATITUDE LONGITUDE]", "Adds a JPEG or PNG file.") {
                try await self.add($0)
            },
            ExampleCommand("rename TITLE NEW-TITLE", "Changes the title of a photo.") {
                try await self.rename(try $0.word(0, "the title"), try $0.word(1, "the new title"))
            },
            ExampleCommand("delete TITLE", "Deletes a photo of yours.") {
                try await self.delete([try await self.photo(try $0.word(0, "the title"))])
            },
            ExampleCommand("delete-all", "Deletes all photos of the list in one batch.") { _ in
                try await self.delete(self.manager.photos)
            },
            ExampleCommand("open TITLE FILE", "Writes the picture into a file.") {
                try await self.open(try $0.word(0, "the title"), try $0.word(1, "the file"))
            },
        ] + notificationCommands
    }

    private var notificationCommands: [ExampleCommand] {
        return [
            ExampleCommand("subscribe", "Asks for notifications of all photos.") { _ in
                var outcome = PhotoSubscription.Outcome.registered
                try await self.finish { done in
                    self.subscription.register { found, error in
                        outcome = found
                        done(error)
                    }
                }
                let text = outcome == .registered ? "Subscribed" : "Was subscribed already"
                self.terminal.say(text)
            },
            ExampleCommand("unsubscribe", "Ends them.") { _ in
                try await self.finish { self.subscription.remove(completion: $0) }
                self.terminal.say("Not subscribed any more")
            },
            ExampleCommand("unread", "Counts the unread notifications.") { _ in
                try await self.finish { done in self.history.fetch { done($1) } }
                self.terminal.say("Unread notifications: \(self.history.unread.count)")
            },
            ExampleCommand("read", "Marks all notifications as read, on all devices.") { _ in
                var count = 0
                try await self.finish { done in self.history.fetch { done($1) } }
                try await self.finish { done in
                    self.history.markAllRead { marked, error in
                        count = marked
                        done(error)
                    }
                }
                self.terminal.say("Marked as read: \(count)")
            },
            ExampleCommand("who", "Says who is signed in.") { _ in
                self.terminal.say(self.user.map { "Signed in as \($0.recordName)" } ?? "Signed out")
            },
        ]
    }

    private func setFilter(_ words: [String]) throws {
        switch try words.word(0, "the kind of filter") {
        case "all": filter = .all
        case "recent": filter = .lastFiveDays
        case "title": filter = .titlePrefix(try words.word(1, "the prefix"))
        case "near":
            guard let place = try place(Array(words.dropFirst())) else {
                throw StepProblem("the place is missing")
            }
            filter = .near(place, kilometers: Double(try words.number(3) ?? 10))
        case "mine":
            guard let user = user else { throw StepProblem("you are signed out") }
            filter = .mine(user)
        case let kind: throw StepProblem("there is no filter '\(kind)'; see help filter")
        }
    }

    /// The place that two words name; nil without words.
    private func place(_ words: [String]) throws -> CLLocation? {
        guard !words.isEmpty else { return nil }
        guard let latitude = Double(words[0]), let longitude = Double(try words.word(1, "a number"))
        else { throw StepProblem("a place is written as two numbers, as in 59.91 10.75") }
        return CLLocation(latitude: latitude, longitude: longitude)
    }

    private func add(_ words: [String]) async throws {
        let file = URL(fileURLWithPath: try words.word(0, "the file"))
        let title = try words.word(1, "the title")
        let picture = try Picture(file: file)
        let place = try self.place(Array(words.dropFirst(2)))
        let photo = Photo(title: title, imageURL: file, place: place)
        try await finish { done in
            manager.add(photo, progress: { self.showProgress($0) }, completion: done)
        }
        terminal.say("Added '\(title)': \(picture.description)")
    }

    private func showProgress(_ share: Double) {
        terminal.say("  \(Int(share * 100)) % uploaded")
    }

    private func rename(_ title: String, _ newTitle: String) async throws {
        let photo = try await self.photo(title)
        photo.title = newTitle
        do {
            try await finish { manager.update(photo, completion: $0) }
        } catch {
            // The list shows the server's state.
            photo.title = title
            throw error
        }
        terminal.say("'\(title)' is '\(newTitle)' now")
    }

    private func delete(_ photos: [Photo]) async throws {
        try await finish { done in
            manager.delete(photos) { count, error in
                self.terminal.say(count == 1 ? "Deleted 1 photo" : "Deleted \(count) photos")
                done(error)
            }
        }
    }

    private func open(_ title: String, _ path: String) async throws {
        guard let source = try await photo(title).imageURL else {
            throw StepProblem("'\(title)' has no picture")
        }
        let picture = try Picture(file: source)
        try Data(contentsOf: source).write(to: URL(fileURLWithPath: path))
        terminal.say("Wrote \(path): \(picture.description)")
    }

    // MARK: - Changes by others

    func photoWasChanged(_ id: CKRecord.ID, _ what: String) {
        manager.refresh(id) { photo, error in
            if let photo = photo {
                self.terminal.announce("\(what): \(photo.title)")
            } else if (error as? CKError)?.code != .unknownItem {
                self.report(error)
            }
        }
    }

    func photoWasRemoved(_ id: CKRecord.ID, _ fields: [String: Any]?) {
        let title = manager.forget(id)?.title ?? fields?[Photo.Key.title] as? String
        terminal.announce("Removed: \(title ?? id.recordName)")
    }

    /// The server could not tell what changed: asks for the list again, if the user looks at one.
    func photosMayHaveChanged() {
        let known = manager.photos.map { $0.recordID }
        guard !known.isEmpty else { return }
        manager.fetch(filter) { error in
            self.report(error)
            for photo in self.manager.photos where !known.contains(photo.recordID) {
                self.terminal.announce("Added: \(photo.title)")
            }
        }
    }
}
