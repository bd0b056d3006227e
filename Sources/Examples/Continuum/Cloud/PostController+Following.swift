// Following posts: a subscription to the comments on each post, which is named after the post.
//
// Used by `PostsScreen` and `AppDelegate`.

import CloudKit

extension PostController {
    private static let newPosts = "posts"

    /// Asks for notifications of new posts, unless that was done before.
    ///
    /// - Returns: False if it was done before.
    func subscribeToNewPosts() async throws -> Bool {
        guard try await !cloud.isSubscribed(PostController.newPosts) else { return false }
        try await cloud.subscribe(
            PostController.newPosts,
            to: Post.recordType,
            where: NSPredicate(value: true),
            alert: "There is a new post."
        )
        return true
    }

    /// Follows a post, or ends it.
    ///
    /// - Returns: Whether the post is followed now.
    func toggleFollowing(_ post: Post) async throws -> Bool {
        let id = post.recordID.recordName
        if try await cloud.isSubscribed(id) {
            try await cloud.unsubscribe(id)
            return false
        }
        let reference = CKRecord.Reference(recordID: post.recordID, action: .none)
        try await cloud.subscribe(
            id,
            to: Comment.recordType,
            where: NSPredicate(format: "%K == %@", Comment.Key.post, reference),
            alert: "There is a new comment on a post that you follow."
        )
        return true
    }

    /// The subject of a notification.
    enum News {
        case posts([Post])
        case comments([Comment], Post)
    }

    /// Fetches what a notification tells of; nil if the app holds it already.
    func news(of notification: CKQueryNotification) async throws -> News? {
        guard let subscription = notification.subscriptionID else { return nil }
        if subscription == PostController.newPosts {
            if let id = notification.recordID {
                return try await post(id).map { .posts([$0]) }
            }
            // The server could not tell which post it was.
            let held = posts.map(\.recordID)
            try await fetchPosts()
            return .posts(posts.filter { !held.contains($0.recordID) })
        }
        guard let post = try await post(CKRecord.ID(recordName: subscription)) else { return nil }
        let comments = try await fetchComments(for: post)
        return comments.isEmpty ? nil : .comments(comments, post)
    }
}
