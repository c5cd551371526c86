"""SocialCast (Costa et al.): publish/subscribe for people who meet now and then, and the routers it is compared with.

kalman, utilities, prophet   how good a carrier a node is
neighbours, buffers          what a node knows of those in range, and what it carries
routers, handovers           to whom copies are handed on, and how without ever doubling them
protocol, options            the three phases, as a `ReactiveStore`
"""
