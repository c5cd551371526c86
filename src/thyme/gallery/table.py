"""The gallery's endpoints, beside those of the node's HTTP interface."""

from __future__ import annotations

from thyme.gallery import forms as f
from thyme.gallery.handlers import Handlers
from thyme.gallery.photos import PhotoView
from thyme.gallery.places import MapView, ReplicaPlaces
from thyme.live.http.endpoints import Endpoint


def gallery_endpoints(h: Handlers) -> list[Endpoint]:
    base, photo = "/v1/gallery", "/v1/gallery/photos/{id}"
    octets = "application/octet-stream"
    return [
        Endpoint("GET", f"{base}/state", h.state, "All that a page needs when it opens", gives=f.StateView),
        Endpoint(
            *("POST", f"{base}/photos", h.add, "Add a photo of this device; its file is the body"),
            takes_bytes=True, gives=PhotoView, status=201, query={"name": "the file's name"},
        ),
        Endpoint("PATCH", photo, h.label, "Note tags of a private photo", takes=f.Labels, gives=PhotoView),
        Endpoint("POST", f"{photo}/publish", h.publish, "Share a private photo", takes=f.Publication, gives=PhotoView),
        Endpoint("POST", f"{photo}/download", h.download, "Download now, or try again", gives=PhotoView, status=202),
        Endpoint("POST", f"{photo}/later", h.later, "Postpone the download", gives=PhotoView),
        Endpoint("POST", f"{photo}/dismiss", h.dismiss, "Do not show it any more", status=204),
        Endpoint("DELETE", photo, h.remove, "Delete; a publication everywhere, after some seconds", gives=PhotoView),
        Endpoint("POST", f"{photo}/undo", h.undo, "Undo a deletion that was not sent yet", gives=PhotoView),
        Endpoint("GET", f"{photo}/thumb", h.thumb, "A small picture", gives_type="image/webp"),
        Endpoint("GET", f"{photo}/view", h.picture, "A screenful", gives_type="image/webp"),
        Endpoint("GET", f"{photo}/original", h.original, "The photo's file", gives_type=octets),
        Endpoint("GET", f"{photo}/places", h.places, "Where its replicas are", gives=ReplicaPlaces),
        Endpoint(
            *("GET", f"{base}/archive", h.archive, "Several photos as one archive"),
            gives_type="application/zip", query={"id*": "a photo"},
        ),
        Endpoint("GET", f"{base}/map", h.map, "The cells and who is in them", gives=MapView),
        Endpoint("POST", f"{base}/place", h.place, "Say where this device is", takes=f.NewPlace, gives=MapView),
        Endpoint("GET", f"{base}/status", h.status, "What this node does", gives=f.NodeStatus),
        Endpoint("PUT", f"{base}/me", h.call_me, "What others see as author", takes=f.NewName, gives=f.Me),
        Endpoint("GET", f"{base}/galleries", h.galleries, "Galleries of this device", gives=list[f.GalleryView]),
        Endpoint(
            *("POST", f"{base}/galleries", h.join, "Create or join a gallery, and switch to it"),
            takes=f.NewGallery, gives=f.GalleryView, status=202,
        ),
        Endpoint(
            *("POST", f"{base}/switch", h.switch, "Switch to another gallery"),
            takes=f.Chosen, gives=f.GalleryView, status=202,
        ),
        Endpoint("GET", f"{base}/invitation", h.invitation, "What to scan to come here", gives=f.InviteView),
    ]  # fmt: skip
