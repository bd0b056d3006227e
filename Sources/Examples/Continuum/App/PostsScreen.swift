// The list of posts and what the user can do with them: what view controllers are in an app with
// a screen.
//
// Made by `Main`.

import CloudKit
import ExampleTerminal

@MainActor
struct PostsScreen {
    private let terminal: Terminal
    private let controller: PostController

    init(_ terminal: Terminal, _ controller: PostController) {
        self.terminal = terminal
        self.controller = controller
    }

    var commands: [ExampleCommand] {
        [
            ExampleCommand("posts", "Fetches and shows all posts.") { _ in
                try await controller.fetchPosts()
                showPosts()
            },
            ExampleCommand("post FILE CAPTION", "Adds a post with a JPEG or PNG file.") {
                try await add(try $0.word(0, "the file"), try $0.word(1, "the caption"))
            },
            ExampleCommand("comment CAPTION TEXT", "Adds a comment to a post.") {
                let (post, text) = (try await post($0), try $0.word(1, "the text"))
                try await telling { try await controller.addComment(text, to: post) }
                terminal.say("'\(post.caption)' has \(post.commentCount) comments now")
            },
            ExampleCommand("comments CAPTION", "Fetches the comments that are new, shows all.") {
                try await showComments(of: post($0))
            },
            ExampleCommand("follow CAPTION", "Follows a post, or ends that.") {
                let post = try await post($0)
                var follows = false
                try await telling { follows = try await controller.toggleFollowing(post) }
                let text = follows ? "You follow" : "You don't follow any more"
                terminal.say("\(text): \(post.caption)")
            },
            ExampleCommand("subscribe", "Asks for notifications of new posts.") { _ in
                var isNew = false
                try await telling { isNew = try await controller.subscribeToNewPosts() }
                terminal.say(isNew ? "Subscribed" : "Was subscribed already")
            },
            ExampleCommand("delete CAPTION", "Deletes a post with its comments.") {
                let post = try await post($0)
                try await telling { try await controller.delete(post) }
                terminal.say("Deleted '\(post.caption)'")
            },
            ExampleCommand("open CAPTION FILE", "Writes the photo into a file.") {
                try open(await post($0), try $0.word(1, "the file"))
            },
        ]
    }

    // MARK: - Showing

    private func showPosts() {
        let rows = controller.posts.map { post -> [String] in
            let picture = post.photoURL.flatMap { try? Picture(file: $0) }
            return [post.caption, picture?.description ?? "", "comments: \(post.commentCount)"]
        }
        terminal.show(Table(rows))
        terminal.say(rows.count == 1 ? "1 post" : "\(rows.count) posts")
    }

    private func showComments(of post: Post) async throws {
        var new: [Comment] = []
        try await telling { new = try await controller.fetchComments(for: post) }
        for comment in post.comments { terminal.say("  \(comment.text)") }
        terminal.say("\(new.count) new, \(post.comments.count) in all")
    }

    private func open(_ post: Post, _ path: String) throws {
        guard let source = post.photoURL else {
            throw StepProblem("'\(post.caption)' has no photo")
        }
        let picture = try Picture(file: source)
        try Data(contentsOf: source).write(to: URL(filePath: path))
        terminal.say("Wrote \(path): \(picture.description)")
    }

    private func add(_ path: String, _ caption: String) async throws {
        let file = URL(filePath: path)
        let picture = try Picture(file: file)
        try await telling { _ = try await controller.createPost(photoURL: file, caption: caption) }
        terminal.say("Posted '\(caption)': \(picture.description)")
    }

    // MARK: - Finding, and failing

    /// The post whose caption is a command's first word; posts are fetched if that was not done.
    private func post(_ words: [String]) async throws -> Post {
        let caption = try words.word(0, "the caption")
        if controller.posts.isEmpty { try await controller.fetchPosts() }
        guard let post = controller.posts.first(where: { $0.caption == caption }) else {
            throw StepProblem("there is no post '\(caption)'; try posts")
        }
        return post
    }

    /// Runs a call; its errors say what they mean to a user of this app.
    private func telling(_ call: () async throws -> Void) async throws {
        do {
            try await call()
        } catch let error as CKError {
            switch error.code {
            case .notAuthenticated:
                throw StepProblem("you are signed out: posts can be read, not written")
            case .unknownItem: throw StepProblem("the post has been deleted meanwhile")
            default: throw error
            }
        }
    }
}
