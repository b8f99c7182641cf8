/* The CSS of pages and images. */
#ifndef REPORT_STYLE_H
#define REPORT_STYLE_H

extern const char style[];

#endif
